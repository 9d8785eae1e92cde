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
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
  </>,
)
export const MoonIcon = icon(<path d="M13.5 9.8A6 6 0 1 1 6.2 2.5a5 5 0 0 0 7.3 7.3z" />)
export const SystemIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="8" rx="1.2" />
    <path d="M6 14h4" />
  </>,
)
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

export function CairnMark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M5 27.5c-2.6 0-3.6-3.2-1.4-4.7 3-2 7.4-2.9 12.6-2.9s9.3.7 12.2 2.7c2.3 1.5 1.3 4.9-1.5 4.9z" />
      <path d="M10 18.4c-2.3 0-3-2.9-1.1-4 2-1.2 4.5-1.7 7.6-1.7 2.7 0 5 .4 6.7 1.3 2.2 1.2 1.4 4.4-1.2 4.4z" />
      <path d="M13.2 11.2c-2 0-2.7-2.3-1.3-3.7 1.2-1.2 2.6-1.9 4.4-1.9 1.6 0 2.9.6 3.8 1.7 1.2 1.5.3 3.9-1.7 3.9z" />
    </svg>
  )
}
