/** Icons that the first page does not use. */
import { icon } from './icons.tsx'

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
export const TailIcon = icon(<path d="M8 2v8M4.5 6.8 8 10.2l3.5-3.4M3 13.5h10" />)
export const ChevronIcon = icon(<path d="m6 4 4 4-4 4" />)
export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="7.5" height="8" rx="1.2" />
    <path d="M10.5 5.5v-3H3v8h2.5" />
  </>,
)
export const FileIcon = icon(<path d="M4 2h5l3 3v9H4zM9 2v3h3" />)
export const WebIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M2 8h12M8 2c2 1.8 2.8 3.8 2.8 6S10 12.2 8 14C6 12.2 5.2 10.2 5.2 8S6 3.8 8 2z" />
  </>,
)
export const OpenIcon = icon(<path d="M9.5 2.5h4v4M13.5 2.5 8 8M11.5 9v4.5h-9v-9H7" />)
export const TerminalIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="10" rx="1.2" />
    <path d="m4.5 6 2 2-2 2M8.5 10.2h3" />
  </>,
)
export const FolderIcon = icon(<path d="M2 4h4l1.5 1.5H14V13H2z" />)
export const DiffIcon = icon(<path d="M8 2.5v6M5 5.5h6M5 12h6" />)
export const WorkerIcon = icon(
  <path d="M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM10 6.5H7.5A3 3 0 0 0 4.5 9.5" />,
)
export const PlanIcon = icon(<path d="m2.5 4.5 1 1 2-2M8 4.5h5.5M2.5 10.5l1 1 2-2M8 10.5h5.5" />)
export const LensIcon = icon(
  <>
    <path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8z" />
    <circle cx="8" cy="8" r="1.8" />
  </>,
)
export const ServerIcon = icon(
  <>
    <rect x="2.5" y="2.5" width="11" height="4.6" rx="1" />
    <rect x="2.5" y="8.9" width="11" height="4.6" rx="1" />
    <path d="M5 4.8h.01M5 11.2h.01" />
  </>,
)
export const SparkIcon = icon(
  <path d="M8 2v3.5M8 10.5V14M2 8h3.5M10.5 8H14M4 4l2 2M10 10l2 2M12 4l-2 2M6 10l-2 2" />,
)
export const BoardIcon = icon(<path d="M2.5 3h11v7.5h-4L8 13l-1.5-2.5h-4zM5 6h6M5 8h4" />)
export const BookIcon = icon(
  <path d="M3 3h4a1 1 0 0 1 1 1v9.5a1 1 0 0 0-1-1H3zM13 3H9a1 1 0 0 0-1 1v9.5a1 1 0 0 1 1-1h4z" />,
)
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
export const PlayIcon = icon(<path d="m5 3 8 5-8 5z" />)
export const KeyIcon = icon(
  <>
    <circle cx="5.2" cy="10.8" r="2.7" />
    <path d="m7.2 8.8 5.8-5.8M10.5 5.5l2 2" />
  </>,
)
export const FilesIcon = icon(<path d="M6 2h4.5L13 4.5V11H6zM6 4.5H3V14h7v-3" />)
