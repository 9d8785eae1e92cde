/** The theme: light, dark or the system's. public/theme.js applies the choice before the first paint. */
import { useState } from 'react'
import { MoonIcon, SunIcon, SystemIcon } from './page-icons.tsx'
import { generalWords } from '../words/general.ts'

type Theme = 'system' | 'light' | 'dark'
const KEY = 'cairn-theme'
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const NAMES: Record<Theme, string> = generalWords.themes
const ICONS = { system: SystemIcon, light: SunIcon, dark: MoonIcon }

function readTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** The name of the current theme. */
export const themeName = (): string => NAMES[readTheme()]

/** Switches to the next theme and returns it. */
export function nextTheme(): Theme {
  const theme = NEXT[readTheme()]
  if (theme === 'system') {
    localStorage.removeItem(KEY)
    delete document.documentElement.dataset['theme']
  } else {
    localStorage.setItem(KEY, theme)
    document.documentElement.dataset['theme'] = theme
  }
  return theme
}

export function ThemeToggle() {
  const [theme, setTheme] = useState(readTheme)
  const Icon = ICONS[theme]
  return (
    <button
      type="button"
      className="button quiet square"
      data-testid="theme-toggle"
      aria-label={generalWords.theme(NAMES[theme], NAMES[NEXT[theme]])}
      onClick={() => setTheme(nextTheme())}
    >
      <Icon />
    </button>
  )
}
