/** Icons that only the Run view uses. */
import { icon } from '../ui/icons.tsx'

export const ModelIcon = icon(<path d="M8 2.5 9.6 6.4 13.5 8 9.6 9.6 8 13.5 6.4 9.6 2.5 8l3.9-1.6z" />)
export const ApprovalIcon = icon(
  <path d="M8 2 3 4v4c0 3 2.2 5 5 6 2.8-1 5-3 5-6V4zM5.8 8l1.6 1.6L10.4 6.5" />,
)
export const ZoomInIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.2" />
    <path d="m10.2 10.2 3.3 3.3M5.2 7h3.6M7 5.2v3.6" />
  </>,
)
export const WholeIcon = icon(
  <path d="M2.5 4v8M13.5 4v8M5 8h6M5 8l1.8-1.8M5 8l1.8 1.8M11 8 9.2 6.2M11 8 9.2 9.8" />,
)
