"""Reports: pure functions of a run record. They compute nothing that the verdict does not already hold."""
