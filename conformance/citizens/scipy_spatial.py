"""scipy.spatial, cluster, interpolate."""

from __future__ import annotations

import numpy as np
from scipy import interpolate
from scipy.cluster import hierarchy, vq
from scipy.spatial import distance
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

from citizens.calls import Draw, Table, between, like, normal, spread

TABLE = Table("scipy")
row = TABLE.row

# ---- cluster ------------------------------------------------------------------------------------
row("cluster.vq.whiten", vq.whiten, normal(5, 2))
row("cluster.vq.vq.dist", lambda x, c: vq.vq(x, c)[1], normal(5, 2), normal(3, 2))
row("cluster.vq.kmeans", lambda x, c: vq.kmeans(x, c), normal(6, 2), normal(2, 2))
row("cluster.vq.kmeans2", lambda x, c: vq.kmeans2(x, c, minit="matrix")[0], normal(6, 2),
    normal(2, 2))  # fmt: skip
row("cluster.hierarchy.linkage(ward)", lambda x: hierarchy.linkage(x, "ward"), normal(5, 2))
row("cluster.hierarchy.fcluster",
    lambda x: hierarchy.fcluster(hierarchy.linkage(x, "ward"), 1.0, "distance") * 1.0, normal(5, 2))

# ---- rotations ----------------------------------------------------------------------------------
NAME = "spatial.transform."
_rotation_matrix = Draw(lambda g: Rotation.random(rng=g).as_matrix())


def _three(q: object) -> object:
    return Rotation.from_quat(q)


row(NAME + "Rotation.from_quat.as_matrix", lambda q: _three(q).as_matrix(), normal(4))
row(NAME + "Rotation.from_rotvec.as_matrix", lambda v: Rotation.from_rotvec(v).as_matrix(),
    normal(2, 3))  # fmt: skip
row(NAME + "Rotation.from_euler.apply",
    lambda e, v: Rotation.from_euler("xyz", e).apply(v), normal(3), normal(2, 3))
row(NAME + "Rotation.from_matrix.as_rotvec", lambda m: Rotation.from_matrix(m).as_rotvec(),
    _rotation_matrix,
    remark="SciPy orthogonalises only matrices that are not orthogonal: a shortcut that depends on "
           "values, and cuts the derivative of the orthogonalisation")  # fmt: skip
row(NAME + "Rotation.as_euler", lambda q: _three(q).as_euler("zyx"), normal(4))
row(NAME + "Rotation.as_mrp", lambda q: _three(q).as_mrp(), normal(4))
row(NAME + "Rotation.from_mrp", lambda p: Rotation.from_mrp(p).as_matrix(), normal(3))
row(NAME + "Rotation mul/inv/pow",
    lambda p, q: (_three(p) * _three(q).inv() ** 0.7).as_rotvec(), normal(4), normal(4))
row(NAME + "Rotation.magnitude", lambda q: _three(q).magnitude(), normal(2, 4))
row(NAME + "Rotation.mean", lambda v: Rotation.from_rotvec(v).mean().as_matrix(),
    between(-0.8, 0.8, 4, 3))  # fmt: skip
row(NAME + "Rotation.align_vectors",
    lambda a, b: Rotation.align_vectors(a, b)[0].as_matrix(), normal(4, 3), normal(4, 3))
row(NAME + "Slerp",
    lambda v: Slerp(like(v, [0.0, 1.0, 2.0]), Rotation.from_rotvec(v))(like(v, [0.4, 1.3]))
    .as_matrix(), between(-0.8, 0.8, 3, 3))  # fmt: skip
row(NAME + "RigidTransform.from_exp_coords.as_matrix",
    lambda x: RigidTransform.from_exp_coords(x).as_matrix(), normal(6))
row(NAME + "RigidTransform.from_components.apply",
    lambda t, q, v: RigidTransform.from_components(t, _three(q)).apply(v), normal(3), normal(4),
    normal(3))  # fmt: skip
row(NAME + "RigidTransform.as_dual_quat",
    lambda t, q: RigidTransform.from_components(t, _three(q)).as_dual_quat(), normal(3), normal(4))
row("spatial.distance.cdist (np_only)", lambda a, b: distance.cdist(a, b), normal(3, 2),
    normal(2, 2))  # fmt: skip

# ---- interpolate --------------------------------------------------------------------------------
X = np.asarray([0.0, 0.7, 1.6, 2.2, 3.1, 4.0])
AT = (0.3, 1.1, 2.5)
row("interpolate.CubicSpline", lambda y, z: interpolate.CubicSpline(like(y, X), y)(z), normal(6),
    between(0.1, 3.9, 3))  # fmt: skip
row("interpolate.PchipInterpolator", lambda y: interpolate.PchipInterpolator(like(y, X), y)(
    like(y, AT)), spread(6))  # fmt: skip
row("interpolate.Akima1DInterpolator",
    lambda y: interpolate.Akima1DInterpolator(like(y, X), y)(like(y, AT)), spread(6))
row("interpolate.make_interp_spline",
    lambda y: interpolate.make_interp_spline(like(y, X), y)(like(y, AT)), normal(6))
row("interpolate.BSpline (wrt c)",
    lambda c: interpolate.BSpline(like(c, [0.0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4]), c, 3)(like(c, AT)),
    normal(7))  # fmt: skip
row("interpolate.RegularGridInterpolator",
    lambda v, z: interpolate.RegularGridInterpolator((like(v, X[:3]), like(v, X[:4])), v)(z),
    normal(3, 4), between(0.1, 1.5, 3, 2))  # fmt: skip
row("interpolate.RBFInterpolator",
    lambda y, d, z: interpolate.RBFInterpolator(y, d)(z), normal(6, 2), normal(6), normal(3, 2))
row("interpolate.make_smoothing_spline",
    lambda y: interpolate.make_smoothing_spline(like(y, X), y, lam=0.3)(like(y, AT)), normal(6))
row("interpolate.PPoly(c,x).derivative",
    lambda c: interpolate.PPoly(c, like(c, [0.0, 1.0, 3.0])).derivative()(like(c, AT)),
    normal(4, 2))  # fmt: skip
