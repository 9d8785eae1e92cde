/** The icon of a tool's family. */
import type { ToolIcon as Name } from '@cairn/state'
import type { ReactNode } from 'react'
import { ChartIcon, ClockIcon, HandIcon, HelpIcon, MissionIcon, SearchIcon } from '../ui/icons.tsx'
import {
  BoardIcon,
  BookIcon,
  CodeIcon,
  FilesIcon,
  DiffIcon,
  FolderIcon,
  LensIcon,
  PencilIcon,
  PlanIcon,
  ServerIcon,
  SparkIcon,
  TerminalIcon,
  WebIcon,
  WorkerIcon,
} from '../ui/page-icons.tsx'

const ICONS: Record<Name, () => ReactNode> = {
  files: FilesIcon,
  folder: FolderIcon,
  search: SearchIcon,
  pencil: PencilIcon,
  diff: DiffIcon,
  terminal: TerminalIcon,
  globe: WebIcon,
  worker: WorkerIcon,
  board: BoardIcon,
  plan: PlanIcon,
  flag: MissionIcon,
  clock: ClockIcon,
  lens: LensIcon,
  question: HelpIcon,
  hand: HandIcon,
  chart: ChartIcon,
  book: BookIcon,
  code: CodeIcon,
  server: ServerIcon,
  spark: SparkIcon,
}

export function ToolIcon({ name }: { name: Name }) {
  const Icon = ICONS[name]
  return <Icon />
}
