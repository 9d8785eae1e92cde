/** The current theme, for canvas drawings, which cannot follow CSS. */
import { useSyncExternalStore } from 'react'

const isDark = () => {
  const chosen = document.documentElement.dataset['theme']
  return chosen === undefined ? window.matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark'
}

export const useThemeName = (): 'light' | 'dark' =>
  useSyncExternalStore(
    listener => {
      const system = window.matchMedia('(prefers-color-scheme: dark)')
      const observer = new MutationObserver(listener)
      system.addEventListener('change', listener)
      observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
      return () => {
        system.removeEventListener('change', listener)
        observer.disconnect()
      }
    },
    () => (isDark() ? 'dark' : 'light'),
  )
