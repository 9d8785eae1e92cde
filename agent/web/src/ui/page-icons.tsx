/** Icons that the first page does not use. */
import { icon } from './icons.tsx'

export const AttachIcon = icon(
  <path d="M13 7.5 7.8 12.7a3 3 0 0 1-4.3-4.3L9 3a2 2 0 0 1 2.9 2.8L6.6 11a1 1 0 0 1-1.5-1.4l4.6-4.6" />,
)
export const PencilIcon = icon(<path d="m3 13 .6-2.8L10.8 3l2.2 2.2-7.2 7.2z" />)
export const ForkIcon = icon(
  <path d="M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5c0 3-7 2-7 5" />,
)
export const CodeIcon = icon(<path d="m5 4.5-3.5 3.5L5 11.5M11 4.5l3.5 3.5-3.5 3.5" />)
export const ExpandIcon = icon(<path d="M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5 9 7M2.5 13.5 7 9" />)
export const PanelIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="10" rx="1.2" />
    <path d="M10 3v10" />
  </>,
)
export const UpIcon = icon(
  <path d="M5 7v6H3V7zM5 12.3c2.5 1 4 .9 6 .7 1 0 1.5-.7 1.7-1.5l.6-3c.2-1-.3-1.8-1.3-1.8H9.3c.4-1.5.4-3-.4-3.9-.5-.5-1.3-.2-1.3.5C7.5 5 6.7 6.2 5 7" />,
)
export const DownIcon = icon(
  <path d="M5 9V3H3v6zM5 3.7c2.5-1 4-.9 6-.7 1 0 1.5.7 1.7 1.5l.6 3c.2 1-.3 1.8-1.3 1.8H9.3c.4 1.5.4 3-.4 3.9-.5.5-1.3.2-1.3-.5C7.5 11 6.7 9.8 5 9" />,
)
export const StopIcon = icon(<rect x="4.2" y="4.2" width="7.6" height="7.6" rx="1" fill="currentColor" />)
export const SendIcon = icon(<path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" />)
export const TailIcon = icon(<path d="M8 2v8M4.5 6.8 8 10.2l3.5-3.4M3 13.5h10" />)
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M6.2 6.3c.2-1 .9-1.5 1.8-1.5s1.8.6 1.8 1.6c0 1.2-1.7 1.4-1.7 2.6M8 11.3v.01" />
  </>,
)
export const BackIcon = icon(<path d="M10 3 5 8l5 5" />)
export const ChevronIcon = icon(<path d="m6 4 4 4-4 4" />)
export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="7.5" height="8" rx="1.2" />
    <path d="M10.5 5.5v-3H3v8h2.5" />
  </>,
)
export const FileIcon = icon(<path d="M4 2h5l3 3v9H4zM9 2v3h3" />)
