"""`python -m polygrad`: a report of what works on this machine."""

from polygrad.doctor import report

if __name__ == "__main__":
    print(report())
