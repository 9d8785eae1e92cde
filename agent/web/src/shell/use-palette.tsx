/** Opens the palette on Ctrl+K (or ⌘K) from anywhere. Its code is loaded on first use. */
import { type ReactNode, Suspense, lazy, useEffect, useState } from 'react'

const Palette = lazy(() => import('./palette.tsx'))

export function usePalette(): ReactNode {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(was => !was)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
  return (
    isOpen && (
      <Suspense fallback={null}>
        <Palette onClose={() => setOpen(false)} />
      </Suspense>
    )
  )
}
