"""Many ranks on one output: who does what, and what happens when one of them goes away."""
