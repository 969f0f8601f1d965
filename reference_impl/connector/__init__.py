"""The reference connector runtime: the connector-push protocol over the store kit. It knows no vendor."""
