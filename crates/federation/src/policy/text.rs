//! The default policy of a site, with every key explained.

/// `site.toml` as `posterity agent policy init` prints it.
pub const DEFAULT: &str = r#"# What this site allows, whatever a study requests. The agent checks every run against this file before it signs anything.
# If a run breaks one rule, the agent refuses it, charges nothing and sends nothing.
schema = 2

# The total budget of all runs at this site, for its whole life. You can state these two numbers to the people in the rows.
# Runs count together as less than the sum of their ε: a closed run counts with what it charged, an open one with its whole
# grant. These defaults allow seven or more studies with ε = 2 and δ = 1e-5, if their noise is Gaussian and every row takes
# part in every answer. `posterity ledger show` says what all runs count as, and how many more like the last would fit.
# Set max_delta to four times the δ of a study or more, and keep it well below 1 divided by the number of rows: at that δ,
# publishing one row outright would satisfy the guarantee. The agent refuses a run that brings the sum of δ there.
max_epsilon = 6.0
max_delta = 1e-4

# The neighbouring relation and the unit of this promise. Costs for other pairs do not add up with it, so that the agent refuses
# a run with another pair, unless a theorem converts it. Choose before the first run.
# adjacency: "substitute" replaces one row by another, and the number of rows is public; "add-remove" adds or removes one row.
# unit: "example" protects one row; "person" protects all rows of a person together, by the schema's person_id; "client"
# protects all rows of this site together.
adjacency = "substitute"
unit = "example"

# Maximum number of runs that are open at a time. Each of them reserves its whole grant.
max_open_runs = 4

# Allowed kinds of models, as studies name them (linear, logistic, softmax, network, mixture, beta-binomial, dirichlet-multinomial, gamma-poisson, normal), or "any".
allowed_models = ["linear", "logistic"]

# Columns that a study may use as inputs, outcome or record ids, or to select rows; or "any". A column that the schema of a
# study ignores is not used.
allowed_columns = "any"

# Minimum number of declared rows at this site.
minimum_rows = 50

# true: the server sees only sums over all sites, opened by independent compute nodes.
# false: the server may also see this site's own answers, each with the full noise promised.
require_secure_sum = false

# Minimum number of sites in a run. In a secure sum, the minimum number of sites without which it is not opened.
minimum_sites = 2

# "manual": someone at this site approves every run that this file allows. "automatic": the agent signs it at once.
approval = "manual"

# Largest ε of a single answer. It ensures a minimum of noise, whatever the number of answers.
max_epsilon_per_answer = 3.0

# Fingerprints of the parties that a secure sum relies on: its compute nodes and, if the sites add the noise, the other sites.
# Their owners read them out to you by telephone (`posterity node fingerprint`, `posterity agent fingerprint`). Do not take
# them from the server: a server that names its own nodes could read this site's answers. The agent refuses a secure sum
# with any other node or site.
[known]
# alice = "0123 4567 89ab cdef 0123 4567 89ab cdef"
"#;
