//! The correction distributions, printed by `examples/fit_correction.rs`.
//!
//! Each table is a symmetric mixture for one variance C of the Gaussian part of Barker's test: a
//! component stands for both of its mirror images, and weights of a table add up to one.
//! [`Correction`](super::Correction) states how far each is from the logistic distribution.

use super::Component;

/// C and its mixture.
pub(super) const TABLES: [(f64, &[Component]); 3] = [
    (
        2.0,
        &[
            Component { weight: 0.8571039514246117, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.13537027915061944, mean: 2.75, deviation: 0.03125 },
            Component { weight: 0.007205257282697807, mean: 5.761015074266819, deviation: 0.03928960143056498 },
            Component { weight: 0.0003090986643983887, mean: 8.966558833639047, deviation: 0.04413982091013318 },
            Component { weight: 1.1071682394300532e-5, mean: 12.344067643687007, deviation: 0.04419303228437832 },
            Component { weight: 3.417952783175187e-7, mean: 16.0, deviation: 0.03125 },
        ],
    ),
    (
        1.5,
        &[
            Component { weight: 0.6833987602641034, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.2706897264256012, mean: 1.8790448295055, deviation: 0.03482820262897833 },
            Component { weight: 0.03997062908470789, mean: 3.868258921142741, deviation: 0.03677550522316259 },
            Component { weight: 0.005232662526798644, mean: 5.943467279607658, deviation: 0.03624788338044995 },
            Component { weight: 0.0006310744914915271, mean: 8.098901977621614, deviation: 0.043892848239620655 },
            Component { weight: 6.816995221680167e-5, mean: 10.337942434972058, deviation: 0.04381092544612843 },
            Component { weight: 2.6249980675024275e-6, mean: 11.375, deviation: 0.03125 },
            Component { weight: 5.952096351138415e-6, mean: 12.937036064355274, deviation: 0.03170714811383825 },
            Component { weight: 4.001606618149184e-7, mean: 16.0, deviation: 0.03125 },
        ],
    ),
    (
        1.0,
        &[
            Component { weight: 0.41505966485430557, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.377573116456956, mean: 1.128185132349426, deviation: 0.03413924726404746 },
            Component { weight: 0.05880533537149896, mean: 2.125, deviation: 0.03125 },
            Component { weight: 0.06725896531090655, mean: 2.25, deviation: 0.03125 },
            Component { weight: 0.04628597834513774, mean: 3.0625, deviation: 0.03125 },
            Component { weight: 0.023995571182449403, mean: 4.043377714357309, deviation: 0.042497571041972784 },
            Component { weight: 0.00807411831008123, mean: 5.277789560022558, deviation: 0.04405848789010496 },
            Component { weight: 0.0022340197502974278, mean: 6.638038715157706, deviation: 0.04026753164017884 },
            Component { weight: 0.000557949872193384, mean: 8.095795940236439, deviation: 0.044146790693649775 },
            Component { weight: 0.00012581391348864802, mean: 9.667953714857978, deviation: 0.04261628865261674 },
            Component { weight: 2.4948188013454956e-5, mean: 11.39827337329566, deviation: 0.04346836121157118 },
            Component { weight: 4.064597022677482e-6, mean: 13.389871378555359, deviation: 0.04104711633687743 },
            Component { weight: 4.5384764899026367e-7, mean: 16.0, deviation: 0.03125 },
        ],
    ),
];
