"""Balance between labels: class weights and resampling."""
