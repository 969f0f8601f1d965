"""The reference mutation host: mutation-profile sections 4, 5 and 5.1 over the store kit."""
