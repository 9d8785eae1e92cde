/**
 * Whether the navigation shows its icons only: as the reader chose, and always on a narrow screen and in the
 * run of a session, which needs the width.
 */
import { useState } from 'react'
import { useMediaQuery } from '../ui/use-media-query.ts'

const KEY = 'cairn-nav'

export function useFold(path: string): [isFolded: boolean, toggle: () => void] {
  const [isChosen, setChosen] = useState(() => localStorage.getItem(KEY) === 'folded')
  const isNarrow = useMediaQuery('(max-width: 1199px)')
  const toggle = () => {
    if (isChosen) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, 'folded')
    setChosen(!isChosen)
  }
  return [isChosen || isNarrow || /^\/sessions\/[^/]+\/run\b/.test(path), toggle]
}
