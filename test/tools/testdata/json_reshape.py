"""Turns a list of orders into totals per customer and month, sorted, with the rows that could not be used."""
import datetime


def json_reshape(orders, currency="EUR"):
    totals, dropped = {}, []
    for i, order in enumerate(orders):
        try:
            month = datetime.date.fromisoformat(order["date"]).strftime("%Y-%m")
            amount = sum(line["price"] * line.get("count", 1) for line in order["lines"])
            customer = order["customer"]["name"]
        except (KeyError, TypeError, ValueError) as e:
            dropped.append({"index": i, "why": type(e).__name__})
            continue
        months = totals.setdefault(customer, {})
        months[month] = round(months.get(month, 0) + amount, 2)
    return {
        "currency": currency,
        "customers": [{"name": n, "months": dict(sorted(m.items()))} for n, m in sorted(totals.items())],
        "dropped": dropped,
    }
