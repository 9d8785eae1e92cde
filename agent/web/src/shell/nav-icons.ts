/** The icons of the pages of the navigation. */
import type { ReactNode } from 'react'
import {
  AgentIcon,
  ChartIcon,
  ClockIcon,
  HashIcon,
  HomeIcon,
  InboxIcon,
  MissionIcon,
  SessionIcon,
  SettingsIcon,
} from '../ui/icons.tsx'
import type { NavPage } from './nav-pages.ts'

export const NAV_ICONS: Record<NavPage['icon'], () => ReactNode> = {
  home: HomeIcon,
  inbox: InboxIcon,
  session: SessionIcon,
  mission: MissionIcon,
  clock: ClockIcon,
  hash: HashIcon,
  agent: AgentIcon,
  chart: ChartIcon,
  settings: SettingsIcon,
}
