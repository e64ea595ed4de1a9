//! The policy that a site begins with, every key explained.

/// `site.toml` as `posterity agent policy init` prints it.
pub const DEFAULT: &str = r#"# What this site allows, whatever a study asks for. The agent holds every run against this file before it signs anything:
# a run that breaks one rule is refused, and nothing of it is charged or sent.
schema = 1

# What all runs at this site may spend together, ever. ε and δ of the runs are added up, and a run counts with everything it was
# granted, used or not: these two numbers are what the people in the rows can be told.
# As printed they allow three studies of ε = 2 at δ = 1e-4, and refuse the fourth. To allow more studies, multiply both numbers,
# and only as far as the site can answer for it. Sums are rounded up, so leave max_delta a little over the exact product.
# Keep max_delta well under one over the number of rows. At that size a guarantee for one row would still hold if one row were
# published outright, so a run that brings δ there is refused whatever max_delta says.
max_epsilon = 6.0
max_delta = 3.1e-4

# Kinds of models as studies name them (linear, logistic, softmax, network, mixture), or "any".
allowed_models = ["linear", "logistic"]

# Columns that may be used: as inputs, as the outcome, as record ids, or to choose rows by; or "any". A column that the schema
# of a study ignores is not used.
allowed_columns = "any"

# Declared rows of this site, at least.
minimum_rows = 50

# true: the server sees nothing but sums over all sites, opened by compute nodes that do not trust each other.
# false: it may see this site's own answers too, each with all the noise that was promised.
require_secure_sum = false

# Sites in a run, at least. In a secure sum, those without which it is not opened.
minimum_sites = 2

# "manual": somebody here says yes to every run that this file allows. "automatic": the agent does.
approval = "manual"

# The largest ε that a single answer may cost by itself: a floor under the noise, whatever the number of answers.
max_epsilon_per_answer = 3.0

# The one promise of all runs at this site: ε and δ of different ones do not add up, so a run with another is refused.
# "substitute": one row is replaced by another, and the number of rows is public; "add-remove": one row is there or not.
# "example": one row is protected; "client": all rows of this site at once. Choose before the first run.
adjacency = "substitute"
unit = "example"

# Those whom a secure sum rests on: its compute nodes, and the other sites where sites add the noise. Their owners read their
# fingerprints out to you (`posterity node fingerprint`, `posterity agent fingerprint`), by telephone and not by the server:
# a server that could name its own would read this site's answers. A secure sum with anybody else is refused.
[known]
# alice = "0123 4567 89ab cdef 0123 4567 89ab cdef"
"#;
