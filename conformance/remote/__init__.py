"""The scripted remote: owned by the suite, it is where a business effect either happens or does not."""
