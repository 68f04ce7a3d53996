"""The parts of bench/report.py: figures and their file, quiet rounds, and the pages that show the figures."""
