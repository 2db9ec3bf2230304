"""The devices to check: those of POLYGRAD_TEST_DEVICES, or every one that CI has."""

