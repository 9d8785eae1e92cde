/** The commands of the Run view that move the selection or the visible part of the axis. */
import type { RunGridHandle } from './run-grid.tsx'
import type { RunCommand } from './run-keys.ts'
import { failureFrom } from './selection.ts'
import type { Run } from './use-run.ts'

const ZOOM = 0.6

export function useMoves(run: Run, grid: { readonly current: RunGridHandle | null }) {
  const { rows, source, viewport, axis, selection, position, spans } = run
  const select = (to: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, to))]
    const table = row === undefined ? undefined : source.tables.get(row.session)
    if (row === undefined || table === undefined) return
    run.select({ session: row.session, event: table.event[row.span] ?? 0 })
  }
  const fail = (step: 1 | -1) => {
    const event = failureFrom(spans, selection?.session === source.session ? selection.event : 0, step)
    if (event !== null) run.select({ session: source.session, event })
  }
  const flip = (at: number) => {
    const row = rows[at]
    if (row !== undefined && row.isOpen !== null) run.flip(row, !row.isOpen)
  }
  const zoomTo = () => {
    const row = rows[position]
    const table = row === undefined ? undefined : source.tables.get(row.session)
    if (row === undefined || table === undefined) return
    const from = axis.at(table.from[row.span] ?? 0)
    const end = table.to[row.last] ?? run.now
    const to = axis.at(Number.isNaN(end) ? run.now : end)
    const margin = Math.max(50, (to - from) * 0.1)
    viewport.show({ from: from - margin, width: to - from + 2 * margin })
  }
  const middle = () => viewport.port.from + viewport.port.width / 2
  const page = () => grid.current?.pageSize() ?? 1
  /** Left on a closed row leads to the row that it belongs to. */
  const parentOf = (at: number) => {
    const level = rows[at]?.level ?? 0
    return rows.findLastIndex((row, i) => i < at && row.level < level)
  }
  const leaveEnd = (move: () => void) => () => {
    run.setFollowing(false)
    move()
  }
  const moves: Partial<Record<RunCommand, () => void>> = {
    down: () => select(position + 1),
    up: () => select(position === -1 ? rows.length - 1 : position - 1),
    'page-down': () => select(position + page()),
    'page-up': () => select(position - page()),
    first: () => select(0),
    last: () => select(rows.length - 1),
    'open-row': () => (rows[position]?.isOpen === false ? flip(position) : select(position + 1)),
    'close-row': () => (rows[position]?.isOpen === true ? flip(position) : select(parentOf(position))),
    'zoom-to': leaveEnd(zoomTo),
    whole: () => viewport.showWhole(),
    'zoom-in': leaveEnd(() => viewport.zoom(ZOOM, middle())),
    'zoom-out': leaveEnd(() => viewport.zoom(1 / ZOOM, middle())),
    'next-failure': () => fail(1),
    'previous-failure': () => fail(-1),
    'time-mode': () => run.switchMode(),
    follow: () => run.setFollowing(!run.isFollowing),
  }
  return Object.assign((command: RunCommand) => moves[command]?.(), { select, flip })
}
