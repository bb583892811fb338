"""The Python side of a snippet run. The worker calls start, settle and bind of _toolplane.run; the rest serves them.

Loaded before the base snapshot is taken, so no module here may hold a JavaScript object other than the host module.
"""

__path__ = []  # a package without a folder: load.py puts its modules into sys.modules
