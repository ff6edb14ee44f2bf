"""Layer 10: processes that compute together, each with a device of its own."""

from numloom.distributed.errors import GroupError, GroupTimeoutError
from numloom.distributed.group import ProcessGroup, init_process_group

__all__ = ["GroupError", "GroupTimeoutError", "ProcessGroup", "init_process_group"]
