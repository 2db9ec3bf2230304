"""The buckets of a group: made once, used as long as its parameters stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polygrad.backend import Backend
    from polygrad.optim.bucket import Bucket
    from polygrad.tensor import Tensor

__all__ = ["Plan", "failed"]


class Plan:
    """The buckets of one group, for one set of parameters that have gradients."""

    def __init__(self, params: list[Tensor], missing: list[bool], buckets: list[Bucket]) -> None:
        self.params, self.missing, self.buckets = params, missing, buckets
        self.members = list(map(id, params))
        parts: dict[Backend, list[Bucket]] = {}
        for bucket in buckets:
            parts.setdefault(bucket.kernels.backend, []).append(bucket)
        self.by_backend = list(parts.items())

    def fits(self, params: list[Tensor], slots: tuple[str, ...]) -> bool:
        """Whether the group still holds these parameters where they were."""
        if params is not self.params or len(params) != len(self.members):
            return False
        for bucket in self.buckets:  # noqa: SIM110  every step: a generator costs as much again
            if not bucket.fits(slots):
                return False
        return True

    def open(self, state: dict[Tensor, dict[str, Any]]) -> None:
        """Give all parameters their state back."""
        for bucket in self.buckets:
            bucket.open(state)


def failed(optimizer: str, bucket: Bucket, error: BaseException) -> BaseException:
    """The error for a step that the device could not finish, and what it left behind."""
    shapes = ", ".join(map(str, bucket.shapes[:3])) + ("" if len(bucket.shapes) < 4 else ", ...")
    where = (
        f"{optimizer}.step, at parameters of shapes {shapes}: they and all after "
        "them are as before the step, with their state; those before them have been updated"
    )
    k = bucket.kernels
    return k.backend.failure(error, k.device, where) or error
