//! The default policy of a site, with every key explained.

/// `site.toml` as `posterity agent policy init` prints it.
pub const DEFAULT: &str = r#"# What this site allows, whatever a study requests. The agent checks every run against this file before it signs anything.
# If a run breaks one rule, the agent refuses it, charges nothing and sends nothing.
schema = 1

# The total budget of all runs at this site, for its whole life. The ε and δ of all runs are added up. Each run counts with
# its whole grant, used or not. You can state these two numbers to the people in the rows.
# These defaults allow three studies with ε = 2 and δ = 1e-4, and refuse a fourth. To allow more studies, multiply both numbers
# as far as the site can justify. Sums are rounded up, so set max_delta slightly above the exact product.
# Keep max_delta well below 1 divided by the number of rows: at that δ, publishing one row outright would satisfy the guarantee.
# The agent refuses a run that brings δ there, whatever max_delta says.
max_epsilon = 6.0
max_delta = 3.1e-4

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

# The neighbouring relation and the unit of all runs at this site. The ε and δ of different pairs do not add up, so the agent
# refuses a run with another pair. Choose before the first run.
# adjacency: "substitute" replaces one row by another, and the number of rows is public; "add-remove" adds or removes one row.
# unit: "example" protects one row; "person" protects all rows of a person together, by the schema's person_id; "client"
# protects all rows of this site together.
adjacency = "substitute"
unit = "example"

# Fingerprints of the parties that a secure sum relies on: its compute nodes and, if the sites add the noise, the other sites.
# Their owners read them out to you by telephone (`posterity node fingerprint`, `posterity agent fingerprint`). Do not take
# them from the server: a server that names its own nodes could read this site's answers. The agent refuses a secure sum
# with any other node or site.
[known]
# alice = "0123 4567 89ab cdef 0123 4567 89ab cdef"
"#;
