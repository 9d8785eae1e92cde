/** The few line icons the UI needs; decorative, the control beside them carries the name. */
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
export const InboxIcon = icon(<path d="M2 9.500 4 3.500h8l2 6v3H2zM2 9.500h3.500L6.500 11h3l1-1.500H14" />)
export const MissionIcon = icon(<path d="M4 14V2.500M4 3h8l-2 2.750 2 2.750H4" />)
export const BackIcon = icon(<path d="M10 3 5 8l5 5" />)
export const ChevronIcon = icon(<path d="m6 4 4 4-4 4" />)
export const CloseIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />)
export const MoreIcon = icon(<path d="M3.500 8h.01M8 8h.01M12.500 8h.01" strokeWidth={2.4} />)
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1.500v1.200M8 13.300v1.200M1.500 8h1.200M13.300 8h1.200M3.400 3.400l.9.9M11.700 11.700l.9.9M3.400 12.600l.9-.9M11.700 4.300l.9-.9" />
  </>,
)
export const MoonIcon = icon(<path d="M13.500 9.800A6 6 0 1 1 6.200 2.500a5 5 0 0 0 7.300 7.300z" />)
export const SystemIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="8" rx="1.200" />
    <path d="M6 14h4" />
  </>,
)
export const CopyIcon = icon(
  <>
    <rect x="5.500" y="5.500" width="7.500" height="8" rx="1.200" />
    <path d="M10.500 5.500v-3H3v8h2.500" />
  </>,
)
export const CheckIcon = icon(<path d="m3 8.500 3.200 3L13 4.500" />)
export const AlertIcon = icon(<path d="M8 2 1.500 13.500h13zM8 6.500v3M8 11.600v.01" />)
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.200" />
    <path d="m10.200 10.200 3.300 3.300" />
  </>,
)
export const PencilIcon = icon(<path d="m3 13 .6-2.800L10.800 3l2.200 2.200-7.200 7.200z" />)
export const ArchiveIcon = icon(<path d="M2 3h12v3H2zM3 6v7h10V6M6.500 8.500h3" />)
export const FilterIcon = icon(<path d="M2 4h12M4.500 8h7M6.500 12h3" />)
export const ClockIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 4.500V8l2.500 1.500" />
  </>,
)
export const FileIcon = icon(<path d="M4 2h5l3 3v9H4zM9 2v3h3" />)

/** Three stones. */
export function CairnMark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M5 27.500c-2.600 0-3.600-3.200-1.400-4.700 3-2 7.400-2.900 12.600-2.900s9.300.7 12.200 2.700c2.300 1.500 1.300 4.900-1.500 4.900z" />
      <path d="M10 18.400c-2.300 0-3-2.900-1.100-4 2-1.200 4.500-1.700 7.600-1.700 2.700 0 5 .4 6.700 1.300 2.200 1.200 1.400 4.400-1.200 4.400z" />
      <path d="M13.200 11.200c-2 0-2.700-2.300-1.300-3.700 1.200-1.200 2.600-1.900 4.400-1.900 1.600 0 2.900.6 3.800 1.700 1.200 1.500.3 3.900-1.700 3.900z" />
    </svg>
  )
}
