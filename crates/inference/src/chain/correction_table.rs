//! The correction distributions, printed by `examples/fit_correction.rs`.
//!
//! Each table is a symmetric mixture for one variance C of the Gaussian part of Barker's test: a
//! component stands for both of its mirror images, and weights of a table add up to one.
//! [`Correction`](super::Correction) states how far each is from the logistic distribution.

use super::Component;

/// C and its mixture.
pub(super) const TABLES: [(f64, &[Component]); 10] = [
    (
        3.25,
        &[
            Component { weight: 0.9932923151786843, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.006702651338369795, mean: 6.0, deviation: 0.03125 },
            Component { weight: 5.033482945883505e-6, mean: 13.375, deviation: 0.03125 },
        ],
    ),
    (
        3.0,
        &[
            Component { weight: 0.9855498348830609, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.01441614162169279, mean: 5.1875, deviation: 0.03125 },
            Component { weight: 3.400456076507859e-5, mean: 11.400264746173907, deviation: 0.04378700419801794 },
            Component { weight: 1.8934481265102572e-8, mean: 16.0, deviation: 0.03125 },
        ],
    ),
    (
        2.75,
        &[
            Component { weight: 0.9714896354085447, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.028335793122968005, mean: 4.470165236286635, deviation: 0.044171507855777246 },
            Component { weight: 0.00017402569974224975, mean: 9.693943880340115, deviation: 0.03657569448991225 },
            Component { weight: 5.457687449835203e-7, mean: 15.587431694971663, deviation: 0.04374018771757757 },
        ],
    ),
    (
        2.5,
        &[
            Component { weight: 0.9478227383150586, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.051443004472433995, mean: 3.827823848366799, deviation: 0.04122478252406305 },
            Component { weight: 0.0007277386240959055, mean: 8.193845226121468, deviation: 0.03650859129108066 },
            Component { weight: 6.419581605686247e-6, mean: 12.986241058367142, deviation: 0.040585562423073 },
            Component { weight: 9.900680586772672e-8, mean: 16.0, deviation: 0.03125 },
        ],
    ),
    (
        2.25,
        &[
            Component { weight: 0.9109960097425555, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.08646286701127687, mean: 3.2582610647105956, deviation: 0.037744322145980884 },
            Component { weight: 0.002488428873628182, mean: 6.897183559558545, deviation: 0.04325418659183804 },
            Component { weight: 5.1941856211219745e-5, mean: 10.850187793341929, deviation: 0.0437227608561792 },
            Component { weight: 6.992058589488723e-7, mean: 15.1875, deviation: 0.03125 },
            Component { weight: 5.331046937011292e-8, mean: 16.0, deviation: 0.03125 },
        ],
    ),
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
        1.75,
        &[
            Component { weight: 0.7821523345170192, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.198247753565782, mean: 2.292280881788572, deviation: 0.04279538114056883 },
            Component { weight: 0.01807750168647746, mean: 4.75893445700471, deviation: 0.038146317526405515 },
            Component { weight: 0.0014162459587990382, mean: 7.349120479781598, deviation: 0.043866649597563916 },
            Component { weight: 9.935871203148979e-5, mean: 10.038916004989863, deviation: 0.04352421587456086 },
            Component { weight: 6.445598302327271e-6, mean: 12.818675763747764, deviation: 0.03639241234608021 },
            Component { weight: 3.59961588504044e-7, mean: 16.0, deviation: 0.03125 },
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
        1.25,
        &[
            Component { weight: 0.5603119962959993, mean: 0.0, deviation: 0.03125 },
            Component { weight: 0.34092424839781116, mean: 1.5003200102285628, deviation: 0.03156676626990468 },
            Component { weight: 0.0782557787385962, mean: 3.056886281843261, deviation: 0.0359986951604202 },
            Component { weight: 0.016323171120486785, mean: 4.6450861949269395, deviation: 0.04276089868432056 },
            Component { weight: 0.0032948935562546735, mean: 6.2246646612760195, deviation: 0.04379659555250779 },
            Component { weight: 0.0006922392084788409, mean: 7.749999999999999, deviation: 0.03125 },
            Component { weight: 0.00016016564260544155, mean: 9.293438824963443, deviation: 0.04248008411021046 },
            Component { weight: 3.234985519065452e-5, mean: 11.0625, deviation: 0.03125 },
            Component { weight: 4.731187455615767e-6, mean: 13.1898260970007, deviation: 0.03341456022884524 },
            Component { weight: 4.259971213478533e-7, mean: 16.0, deviation: 0.03125 },
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
