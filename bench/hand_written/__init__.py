"""Programs as a careful user of PySpark writes them by hand; Penstock is measured against them."""
