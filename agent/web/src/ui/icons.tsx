/** The line icons of the first page. They are decorative: the control beside them carries the name. */
import type { ReactNode } from 'react'

export const icon = (paths: ReactNode, viewBox = '0 0 16 16') =>
  function Icon() {
    return (
      <svg className="icon" viewBox={viewBox} aria-hidden="true">
        {paths}
      </svg>
    )
  }

export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />)
export const InboxIcon = icon(<path d="M2 9.5 4 3.5h8l2 6v3H2zM2 9.5h3.5L6.5 11h3l1-1.5H14" />)
export const MissionIcon = icon(<path d="M4 14V2.5M4 3h8l-2 2.75 2 2.75H4" />)
export const CloseIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />)
export const MoreIcon = icon(<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth={2.4} />)
export const CheckIcon = icon(<path d="m3 8.5 3.2 3L13 4.5" />)
export const AlertIcon = icon(<path d="M8 2 1.5 13.5h13zM8 6.5v3M8 11.6v.01" />)
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.2" />
    <path d="m10.2 10.2 3.3 3.3" />
  </>,
)
export const ArchiveIcon = icon(<path d="M2 3h12v3H2zM3 6v7h10V6M6.5 8.5h3" />)
export const FilterIcon = icon(<path d="M2 4h12M4.5 8h7M6.5 12h3" />)
export const ClockIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 4.5V8l2.5 1.5" />
  </>,
)

export const HomeIcon = icon(<path d="m2.5 7.5 5.5-5 5.5 5M4 6.5v7h3v-3.5h2v3.5h3v-7" />)
export const AgentIcon = icon(
  <>
    <rect x="2.5" y="5.5" width="11" height="7.5" rx="2" />
    <path d="M8 3v2.5M5.8 8.8v.6M10.2 8.8v.6M6.5 13h3" />
  </>,
)
export const ApprovalIcon = icon(<path d="M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4zM5.8 8l1.6 1.6 2.8-3" />)
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M6.2 6.3c.2-1 .9-1.5 1.8-1.5s1.8.6 1.8 1.6c0 1.2-1.7 1.4-1.7 2.6M8 11.3v.01" />
  </>,
)
export const HandIcon = icon(
  <path d="M5 8.5V4a1 1 0 0 1 2 0v3.5V3a1 1 0 0 1 2 0v4.5V3.8a1 1 0 0 1 2 0V9 6.2a1 1 0 0 1 2 0V10a4 4 0 0 1-4 4H8.5a4 4 0 0 1-3.2-1.6L3 9.3a1 1 0 0 1 1.6-1.2z" />,
)
export const AttachIcon = icon(
  <path d="M13 7.5 7.8 12.7a3 3 0 0 1-4.3-4.3L9 3a2 2 0 0 1 2.9 2.8L6.6 11a1 1 0 0 1-1.5-1.4l4.6-4.6" />,
)
export const SendIcon = icon(<path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" />)
export const BackIcon = icon(<path d="M10 3 5 8l5 5" />)
export const DropIcon = icon(<path d="m4.5 6.5 3.5 3.5 3.5-3.5" />)
export const SessionIcon = icon(<path d="M2.5 3h11v8H8l-3.5 2.5V11h-2z" />)
export const HashIcon = icon(<path d="M6 2.5 4.8 13.5M11.2 2.5 10 13.5M2.5 5.8h11.2M2.2 10.2h11.2" />)
export const ChartIcon = icon(<path d="M2.5 13.5h11M4.5 11V7.5M8 11V3M11.5 11V5.5" />)
export const SettingsIcon = icon(
  <>
    <path d="M2 5h5.5M12.5 5H14M2 11h1.5M8.5 11H14" />
    <circle cx="10" cy="5" r="2" />
    <circle cx="6" cy="11" r="2" />
  </>,
)

export function CairnMark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M5 27.5c-2.6 0-3.6-3.2-1.4-4.7 3-2 7.4-2.9 12.6-2.9s9.3.7 12.2 2.7c2.3 1.5 1.3 4.9-1.5 4.9z" />
      <path d="M10 18.4c-2.3 0-3-2.9-1.1-4 2-1.2 4.5-1.7 7.6-1.7 2.7 0 5 .4 6.7 1.3 2.2 1.2 1.4 4.4-1.2 4.4z" />
      <path d="M13.2 11.2c-2 0-2.7-2.3-1.3-3.7 1.2-1.2 2.6-1.9 4.4-1.9 1.6 0 2.9.6 3.8 1.7 1.2 1.5.3 3.9-1.7 3.9z" />
    </svg>
  )
}
