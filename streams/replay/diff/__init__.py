"""What another configuration would change: outcomes under two configurations go in, counted differences come out."""
