/** Icons of the pages that the first load does not show. */
import { icon } from './icons.tsx'

export const AttachIcon = icon(
  <path d="M13 7.500 7.800 12.700a3 3 0 0 1-4.300-4.300L9 3a2 2 0 0 1 2.900 2.800L6.600 11a1 1 0 0 1-1.500-1.400l4.600-4.600" />,
)
export const CodeIcon = icon(<path d="m5 4.500-3.500 3.500L5 11.500M11 4.500l3.500 3.500-3.500 3.500" />)
export const ExpandIcon = icon(
  <path d="M9.500 2.500h4v4M6.500 13.500h-4v-4M13.500 2.500 9 7M2.500 13.500 7 9" />,
)
export const PanelIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="10" rx="1.200" />
    <path d="M10 3v10" />
  </>,
)
export const UpIcon = icon(
  <path d="M5 7v6H3V7zM5 12.300c2.500 1 4 .9 6 .7 1 0 1.500-.7 1.700-1.500l.6-3c.2-1-.3-1.800-1.300-1.800H9.300c.4-1.500.4-3-.4-3.900-.5-.5-1.300-.2-1.300.5C7.500 5 6.700 6.200 5 7" />,
)
export const DownIcon = icon(
  <path d="M5 9V3H3v6zM5 3.700c2.500-1 4-.9 6-.7 1 0 1.500.7 1.700 1.500l.6 3c.2 1-.3 1.800-1.300 1.800H9.300c.4 1.500.4 3-.4 3.900-.5.5-1.300.2-1.300-.5C7.500 11 6.700 9.800 5 9" />,
)
export const StopIcon = icon(
  <rect x="4.200" y="4.200" width="7.600" height="7.600" rx="1" fill="currentColor" />,
)
export const SendIcon = icon(<path d="M8 13V3M3.500 7.500 8 3l4.500 4.500" />)
export const TailIcon = icon(<path d="M8 2v8M4.500 6.800 8 10.200l3.500-3.400M3 13.500h10" />)
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M6.200 6.300c.2-1 .9-1.500 1.800-1.500s1.800.6 1.800 1.600c0 1.200-1.700 1.400-1.700 2.600M8 11.300v.01" />
  </>,
)
