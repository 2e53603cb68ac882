/**
 * The theme of the host, which may differ from that of the system.
 */

const DARK = "(prefers-color-scheme: dark)";
const DARK_RULES = [...document.styleSheets]
  .flatMap((sheet) => [...sheet.cssRules])
  .filter((rule) => rule instanceof CSSMediaRule && rule.conditionText === DARK);
let current = null;

/** Let the rules for a dark look hold or not; return whether that changed something. */
export function setTheme(theme) {
  if (!["light", "dark"].includes(theme) || theme === current) return false;
  current = theme;
  for (const rule of DARK_RULES) rule.media.mediaText = theme === "dark" ? "all" : "not all";
  document.documentElement.classList.toggle("dark", theme === "dark");
  document.documentElement.classList.toggle("light", theme === "light");
  return true;
}
