"""reference: encoding through the reference library, where no native path is exact."""
