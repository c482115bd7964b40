"""Measures in a text: a number and its unit, as an amount in one unit of each kind; neither money nor times of day."""

from __future__ import annotations

import re
from decimal import Decimal

from handlers.text.prices import decimal_amount

MEASURE = re.compile(
    r"(?<![A-Za-z\d.,/])(\d[\d.,]{0,14})"
    r"(?:[\s-]?([\u3040-\u9fff\uac00-\ud7a3]{1,2})|[\s-]?([^\W\d_\u3040-\u9fff\uac00-\ud7a3]{1,20}[²2]?|%)(?![\w/]))"
)
"""A number and the word or the sign behind it."""
_OPEN = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
"""An amount that is a thousand times as much in another language."""
_UNITS = """
length 1 m meter meters metre metres metri metro metros mètre mètres 公尺; length 0.001 mm
length 0.01 cm centimeter centimetres 公分
length 1000 km kilometer kilometers kilometre kilometres kilomètres kilómetros chilometri quilómetros kilometrów 公里
length 1609.344 mile miles mi; length 0.0254 inch inches zoll tum tommer pouces pulgadas pollici 吋
length 0.3048 ft feet foot; mass 1 g gram grams gramm 公克; mass 0.001 mg
mass 1000 kg kilo kilos kilogram kilogramm 公斤; mass 28.35 oz
duration 1 min mins minute minutes minuten minuto minutos minuti minutter minuter minut minuty 分鐘 分
duration 60 h hr hrs hour hours std stunde stunden heure heures hora horas ora ore timer timmar uur godzin 小時 時間
duration 1440 day days tag tage tagen jour jours día días giorno giorni dia dias dage dagar dagen dni 天 日
duration 10080 week weeks woche wochen semaine semaines semana semanas settimane uger veckor weken tygodni 週
duration 43800 month months monat monate monaten mois mes meses mese mesi måneder månader maanden 個月 ヶ月
duration 525600 year years jahr jahre jahren an ans año años anno anni ano anos år jaar lat roku 年; data 1 mb
data 0.001 kb; data 1000 gb; data 1000000 tb; area 1 m² m2 qm sqm kvm mq; area 3.3 坪; area 10000 ha
volume 1 l liter liters litre litres litri litros litrów 公升; volume 0.1 dl; volume 0.01 cl; volume 0.001 ml
power 1 w watt watts; power 1000 kw; energy 1 wh; energy 1000 kwh; charge 1 mah; share 1 % percent prozent procent
persons 1 people person persons personen personer personnes personas persone pessoas osób guests 人
rooms 1 room rooms bedroom bedrooms zimmer pièces habitaciones camere quartos kamers rum pokoje
"""
"""A kind, how many of its first unit the units are, and the units."""
_UNIT_OF = {
    unit: (kind, Decimal(factor))
    for kind, factor, *units in map(str.split, re.split("[;\n]", _UNITS.strip()))
    for unit in units
}
TIME_UNITS = tuple(unit for unit, (kind, _) in _UNIT_OF.items() if kind == "duration")


def measure_of(match: re.Match[str]) -> tuple[Decimal, str] | None:
    """The amount and the kind of a match of ``MEASURE``; None without a known unit, or where the amount is open."""
    number, unit = match[1].rstrip(".,"), (match[2] or match[3]).lower()
    found = _UNIT_OF.get(unit) or (_UNIT_OF.get(unit[0]) if unit[0] > "\u3040" else None)
    if found is None or _OPEN.fullmatch(number):
        return None
    kind, factor = found
    return Decimal(decimal_amount(number)) * factor, kind
