//! The tables and figures that come with the program, by name.

/// Studies that come with the program, and what they are.
pub const TABLES: &[(&str, &str, &str)] = &[
    (
        "workshop-table5",
        "Sharma et al. 2019, Table 5: PVI, global VI and DP-PVI on four splits of Adult",
        include_str!("../studies/workshop-table5.toml"),
    ),
    (
        "workshop-fig1",
        "Sharma et al. 2019, Figure 1: scores on distribution C against messages and against ε",
        include_str!("../studies/workshop-fig1.toml"),
    ),
    (
        "workshop-fig3",
        "Sharma et al. 2019, Figure 3: PVI against global VI as heat maps over a grid of splits of Adult",
        include_str!("../studies/workshop-fig3.toml"),
    ),
    (
        "workshop-fig4",
        "Sharma et al. 2019, Figure 4: scores on distribution A against messages and against ε",
        include_str!("../studies/workshop-fig4.toml"),
    ),
    (
        "workshop-fig5",
        "Sharma et al. 2019, Figure 5: scores on distribution B against messages and against ε",
        include_str!("../studies/workshop-fig5.toml"),
    ),
    (
        "tmlr-fig1",
        "Heikkilä et al. (TMLR), Figure 1: private methods at ε = 1 on three splits of Adult",
        include_str!("../studies/tmlr-fig1.toml"),
    ),
    (
        "tmlr-fig2",
        "Heikkilä et al. (TMLR), Figure 2 on SUPPORT in place of MIMIC-III: death in hospital at ε = 1 on four splits",
        include_str!("../studies/tmlr-fig2.toml"),
    ),
    (
        "tmlr-fig3",
        "Heikkilä et al. (TMLR), Figure 3: 200 clients at ε = 0.5 on three splits of Adult",
        include_str!("../studies/tmlr-fig3.toml"),
    ),
    (
        "tmlr-fig4",
        "Heikkilä et al. (TMLR), Figure 4: a Bayesian network at ε = 2 on three splits of Adult",
        include_str!("../studies/tmlr-fig4.toml"),
    ),
    (
        "tmlr-parts",
        "Parameter perturbation and virtual clients: 1, 10, 100 and 1,000 parts of the rows of a client at ε = 1, on Adult",
        include_str!("../studies/tmlr-parts.toml"),
    ),
    (
        "tmlr-fig1-secure",
        "The rows of tmlr-fig1 that had a trusted aggregator, by a secure sum with each of its noises",
        include_str!("../studies/tmlr-fig1-secure.toml"),
    ),
    (
        "tmlr-fig3-secure",
        "The rows of tmlr-fig3 that had a trusted aggregator, by a secure sum with each of its noises",
        include_str!("../studies/tmlr-fig3-secure.toml"),
    ),
    (
        "paper1-fig1b",
        "Heikkilä et al. 2017, Figure 1(b): the factor of the noise where clients collude",
        include_str!("../studies/paper1-fig1b.toml"),
    ),
    (
        "paper1-fig2",
        "Heikkilä et al. 2017, Figure 2: linear regression from sufficient statistics on wine and abalone, ε from .1 to 3",
        include_str!("../studies/paper1-fig2.toml"),
    ),
    (
        "heart-sites",
        "What federation buys each of four hospitals, with an intercept of its own, and one that has 20 patients",
        include_str!("../studies/heart-sites.toml"),
    ),
    (
        "thesis-fig4.1",
        "Sharma's thesis, Figure 4.1: natural parameters, divergence and ε along rounds of DP-SGD at ε = 500",
        include_str!("../studies/thesis-fig4.1.toml"),
    ),
    (
        "thesis-fig4.2",
        "Sharma's thesis, Figure 4.2: ε of sampled Gaussian noise by epochs, for several sampling probabilities",
        include_str!("../studies/thesis-fig4.2.toml"),
    ),
    (
        "thesis-fig4.3",
        "Sharma's thesis, Figure 4.3: what noisy natural parameters say of the mean and the variance, in closed form",
        include_str!("../studies/thesis-fig4.3.toml"),
    ),
    (
        "thesis-fig4.4",
        "Sharma's thesis, Figure 4.4: clipped analytic updates of each row at ε = 10, by clipping bound",
        include_str!("../studies/thesis-fig4.4.toml"),
    ),
    (
        "thesis-fig4.5",
        "Sharma's thesis, Figure 4.5: posteriors of clipped analytic updates at ε = 10 beside the exact ones",
        include_str!("../studies/thesis-fig4.5.toml"),
    ),
    (
        "thesis-fig4.6",
        "Sharma's thesis, Figure 4.6: clipped analytic updates without noise, by clipping bound",
        include_str!("../studies/thesis-fig4.6.toml"),
    ),
    (
        "thesis-fig4.7",
        "Sharma's thesis, Figure 4.7: posteriors of clipped analytic updates without noise beside the exact ones",
        include_str!("../studies/thesis-fig4.7.toml"),
    ),
    (
        "thesis-fig4.8",
        "Sharma's thesis, Figure 4.8: client-level DP-PVI at ε = 10, by clipping bound and damping",
        include_str!("../studies/thesis-fig4.8.toml"),
    ),
    (
        "thesis-fig4.9",
        "Sharma's thesis, Figure 4.9: posteriors of client-level DP-PVI at ε = 10 beside the exact ones",
        include_str!("../studies/thesis-fig4.9.toml"),
    ),
    (
        "thesis-fig4.10",
        "Sharma's thesis, Figure 4.10: client-level DP-PVI without noise, by clipping bound and damping",
        include_str!("../studies/thesis-fig4.10.toml"),
    ),
    (
        "thesis-fig4.11",
        "Sharma's thesis, Figure 4.11: natural parameters along rounds where client-level DP-PVI works well",
        include_str!("../studies/thesis-fig4.11.toml"),
    ),
    (
        "thesis-fig4.12",
        "Sharma's thesis, Figure 4.12: natural parameters along rounds where client-level DP-PVI works poorly",
        include_str!("../studies/thesis-fig4.12.toml"),
    ),
    (
        "thesis-fig4.13",
        "Sharma's thesis, Figure 4.13: client-level DP-PVI at ε = 10, by clients and by rows of each",
        include_str!("../studies/thesis-fig4.13.toml"),
    ),
    (
        "thesis-fig4.14",
        "Sharma's thesis, Figure 4.14: posteriors of client-level DP-PVI for 10 and 90 rows of each client",
        include_str!("../studies/thesis-fig4.14.toml"),
    ),
    (
        "thesis-fig4.15",
        "Sharma's thesis, Figure 4.15: how often a client's noisy precision is negative, at the start and near convergence",
        include_str!("../studies/thesis-fig4.15.toml"),
    ),
    (
        "thesis-fig4.16",
        "Sharma's thesis, Figure 4.16: natural parameters along rounds without local clipping, past ε = 10",
        include_str!("../studies/thesis-fig4.16.toml"),
    ),
    (
        "thesis-fig4.17",
        "Sharma's thesis, Figure 4.17: client-level against row-level DP-PVI at ε = 10",
        include_str!("../studies/thesis-fig4.17.toml"),
    ),
    (
        "thesis-hybrid",
        "Sharma's thesis, 4.2.3 and 5.1: a hybrid and a reused likelihood beside their parts at ε = 10",
        include_str!("../studies/thesis-hybrid.toml"),
    ),
    (
        "epsilon-curve",
        "Held-out log-likelihood of every private method against ε from .1 to 8, on the balanced split of Adult",
        include_str!("../studies/epsilon-curve.toml"),
    ),
    (
        "paper2-fig1",
        "Heikkilä et al. 2019, Figure 1: ε of a private chain by batch and by iterations, and how many log-ratios are clipped",
        include_str!("../studies/paper2-fig1.toml"),
    ),
    (
        "paper2-supplement",
        "Heikkilä et al. 2019, Supplement, Figures 1 to 3: how near a corrected test is to Barker's",
        include_str!("../studies/paper2-supplement.toml"),
    ),
    (
        "paper2-fig3",
        "Heikkilä et al. 2019, Figure 3: draws of a private chain from a mixture, their error against ε, beside DP-SGLD",
        include_str!("../studies/paper2-fig3.toml"),
    ),
    (
        "paper2-chains",
        "What the tighter bound buys there: four chains of 480,000 iterations, each worth over 400 independent draws",
        include_str!("../studies/paper2-chains.toml"),
    ),
    (
        "adult-chains",
        "Every sampler at ε = 1, 4 and 12 on Adult, beside DP-PVI",
        include_str!("../studies/adult-chains.toml"),
    ),
    (
        "paper3-fig1",
        "Koskela et al. 2023, Figure 1: δ(ε) of shuffled reports of 10,000 users, PLD beside RDP",
        include_str!("../studies/paper3-fig1.toml"),
    ),
    (
        "paper3-fig2",
        "Koskela et al. 2023, Figure 2: convergence of the bound along the grid of α, 2000 rounds of sampled users",
        include_str!("../studies/paper3-fig2.toml"),
    ),
    (
        "paper3-fig3",
        "Koskela et al. 2023, Figure 3: ε of shuffles of sampled users by rounds, PLD beside RDP",
        include_str!("../studies/paper3-fig3.toml"),
    ),
    (
        "paper3-fig4",
        "Koskela et al. 2023, Figure 4: shuffled randomised response against three adversaries, 1000 users",
        include_str!("../studies/paper3-fig4.toml"),
    ),
    (
        "paper3-fig5",
        "Koskela et al. 2023, Figure 5: δ(ε) of shuffled answers with Gaussian noise, up to seven users",
        include_str!("../studies/paper3-fig5.toml"),
    ),
    (
        "dissertation-fig2.1",
        "Heikkilä 2023, Figure 2.1: basic, advanced and tight composition of 5 and of 100 mechanisms",
        include_str!("../studies/dissertation-fig2.1.toml"),
    ),
    (
        "coverage",
        "How often 90 % intervals of the default hold known coefficients: five designs, ε from .3 to 3",
        include_str!("../studies/coverage.toml"),
    ),
    (
        "coverage-grid",
        "The same on a grid of 270 cells: five designs, 1,000 to 20,000 rows, 5 to 30 inputs",
        include_str!("../studies/coverage-grid.toml"),
    ),
    (
        "coverage-real",
        "The same for the inputs of heart, flchain, SUPPORT and Adult with drawn labels",
        include_str!("../studies/coverage-real.toml"),
    ),
    (
        "coverage-methods",
        "Coverage of the default beside other methods, in twelve cells",
        include_str!("../studies/coverage-methods.toml"),
    ),
    (
        "conjugate-coverage",
        "How often 90 % intervals of conjugate posteriors hold the parameters: four families, 100 and 1,000 rows, ε from .3 to 3",
        include_str!("../studies/conjugate-coverage.toml"),
    ),
    (
        "settings-regret",
        "What derived settings of DP optimisation and global VI lose beside a grid of twelve, on eight sets, ε from .3 to 3",
        include_str!("../studies/settings-regret.toml"),
    ),
    (
        "settings-regret-linear",
        "The same of linear regression by sufficient statistics, on wine, abalone and made-up rows",
        include_str!("../studies/settings-regret-linear.toml"),
    ),
    (
        "tmlr-fig1-defaults",
        "tmlr-fig1 by defaults alone, beside its tuned settings",
        include_str!("../studies/tmlr-fig1-defaults.toml"),
    ),
    (
        "epsilon-defaults",
        "What the default of a short study gains from ε = .1 to 8 on ten sets, alone and with a curator",
        include_str!("../studies/epsilon-defaults.toml"),
    ),
];

/// The study of the federation that is shown on one machine: heart disease at four hospitals.
pub const FEDERATION_DEMO: &str = include_str!("../studies/heart-federation.toml");
