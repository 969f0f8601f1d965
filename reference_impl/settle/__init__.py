"""The settle lanes: Events in, one Flow execution for each settled generation out (source-settle)."""
