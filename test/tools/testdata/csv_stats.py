"""Statistics of a CSV file that lies beside the tool."""
import collections
import csv
import decimal
import os
import statistics


def csv_stats(file, group, value):
    groups = collections.defaultdict(list)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row[value].strip():
                groups[row[group]].append(decimal.Decimal(row[value]))
    return {
        name: {
            "count": len(v),
            "sum": str(sum(v)),
            "mean": str(statistics.mean(v).quantize(decimal.Decimal("0.01"))),
            "median": str(statistics.median(v)),
            "stdev": round(statistics.pstdev(map(float, v)), 4),
        }
        for name, v in sorted(groups.items())
    }
