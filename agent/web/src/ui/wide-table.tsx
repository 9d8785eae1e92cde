/** A table that shows when columns are hidden at the sides, with a button that copies it as CSV. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { CopyIcon } from './page-icons.tsx'
import { scrollRegion } from './scroll-region.ts'
import { say, sayError } from './toasts.tsx'
import './table.css'
import './wide-table.css'
import { toolsWords } from '../words/tools.ts'

type Props = {
  name: string
  columns: number
  /** Returns the CSV to copy; `table` is the rendered element. */
  csv: (table: HTMLTableElement) => string
  children: ReactNode
}

export function WideTable({ name, columns, csv, children }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const hidden = useHiddenSides(box)
  const copy = () => {
    const table = box.current?.querySelector('table')
    if (!table) return
    navigator.clipboard.writeText(csv(table)).then(() => say(toolsWords.tableCopied), sayError)
  }
  return (
    <div className="wide-table" data-more={hidden || undefined}>
      <div
        className="table-scroll"
        ref={box}
        {...scrollRegion(toolsWords.tableSize(name, columns))}
        data-testid="table-scroll"
      >
        {children}
      </div>
      <p className="table-foot faint">
        <span data-testid="table-more">{hidden === '' ? '' : toolsWords.scrollForColumns(columns)}</span>
        <button type="button" className="button quiet small" onClick={copy} data-testid="copy-csv">
          <CopyIcon />
          {toolsWords.csv}
        </button>
      </p>
    </div>
  )
}

/** The sides with hidden columns: "start", "end", both, or empty. */
function useHiddenSides(box: { current: HTMLDivElement | null }): string {
  const [hidden, setHidden] = useState('')
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => {
      const rest = element.scrollWidth - element.clientWidth
      const at = Math.abs(element.scrollLeft)
      setHidden([at > 1 && 'start', rest - at > 1 && 'end'].filter(side => side !== false).join(' '))
    }
    const observer = new ResizeObserver(look)
    observer.observe(element)
    if (element.firstElementChild) observer.observe(element.firstElementChild)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [box])
  return hidden
}
