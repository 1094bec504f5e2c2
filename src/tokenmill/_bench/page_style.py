"""The style of the page: quiet colours that can be told apart, in light and in dark."""

STYLE = """
:root { --ground: #fbfaf7; --panel: #fff; --ink: #1d1f23; --soft: #5f646c; --line: #e3e1da;
  --c0: #2f6fb3; --c1: #c96f12; --c2: #2e7d4f; --c3: #b3403a; --c4: #7a55b0; --c5: #6b7078;
  --good: #2e7d4f; --bad: #b3403a; --warn: #8f5f10; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15171a; --panel: #1d2024; --ink: #e8e6e1; --soft: #a3a9b1; --line: #32363d;
    --c0: #6aa5e3; --c1: #e5a152; --c2: #6cc092; --c3: #e5746d; --c4: #b497e6; --c5: #9aa0a8;
    --good: #6cc092; --bad: #e5746d; --warn: #e0b054; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 20px; max-width: 1240px; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 8px; } h2 { font-size: 16px; margin: 0 0 8px; }
header dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px;
  margin: 0 0 18px; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: 14px 16px; }
p { margin: 4px 0 8px; color: var(--soft); max-width: 80ch; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; margin-bottom: 4px; }
.keys i { display: inline-block; width: 12px; height: 12px; border-radius: 6px; margin-right: 6px;
  vertical-align: -1px; background: var(--c); }
.verdict { font-weight: 600; color: var(--ink); } .warn { color: var(--warn); }
.good, .verdict.good { color: var(--good); } .bad, .verdict.bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-size: 13px; }
th, td { padding: 3px 10px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; } .words { text-align: left; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0;
  background: var(--panel); }
main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; }
section { grid-column: 1 / -1; min-width: 0; } section.half { grid-column: span 1; }
svg { display: block; width: 100%; height: auto; }
svg text { paint-order: stroke; stroke: var(--panel); stroke-width: 3px;
  fill: var(--soft); font-size: 11.5px; font-family: system-ui, sans-serif; }
svg text.name { fill: var(--ink); } svg text.title { font-size: 12px; }
svg text.value { fill: var(--ink); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); } .mark { stroke: var(--ink); stroke-dasharray: 4 3; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
.line { fill: none; stroke: var(--c); stroke-width: 2; } .dot { fill: var(--c); }
.ring { fill: var(--panel); stroke: var(--c); stroke-width: 1.5; }
.bar { stroke: var(--c); stroke-width: 6; stroke-opacity: .35; stroke-linecap: round; }
.reach { stroke: var(--c); stroke-width: 1.2; stroke-opacity: .5; }
.narrow { display: none; }
@media (max-width: 900px) { section.half { grid-column: 1 / -1; } }
@media (max-width: 640px) {
  body { padding: 12px; } section { padding: 12px; }
  .wide { display: none; } .narrow { display: block; }
  header dl { grid-template-columns: 1fr; } dt { margin-top: 4px; } }
"""
