/** Light or dark: the system's, until a person says otherwise. */

import { type ReactNode, useEffect, useState } from "react";
import { Icon } from "./icons.js";

type Theme = "light" | "dark";
const STORED = "ropewalk.theme";

function system(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function stored(): Theme | undefined {
  try {
    const value = localStorage.getItem(STORED);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined;
  }
}

export function ThemeButton(): ReactNode {
  const [chosen, setChosen] = useState(stored);
  const theme = chosen ?? system();
  useEffect(() => {
    if (chosen === undefined) return;
    document.documentElement.dataset["theme"] = chosen;
    try {
      localStorage.setItem(STORED, chosen);
    } catch {
      // Then it lasts as long as the page.
    }
  }, [chosen]);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      className="quiet square"
      aria-label={`Use the ${other} theme`}
      title={`Use the ${other} theme`}
      onClick={() => setChosen(other)}
    >
      <Icon name={theme === "dark" ? "sun" : "moon"} />
    </button>
  );
}
