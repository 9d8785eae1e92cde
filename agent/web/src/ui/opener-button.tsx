/** A button that opens a menu or a similar element, whose code is loaded on first use. */
import { type ReactNode, type RefObject, Suspense, useRef, useState } from 'react'

type Props = {
  className: string
  label?: string | undefined
  testId: string
  isDisabled?: boolean
  renderOpen: (button: RefObject<HTMLButtonElement | null>, close: () => void) => ReactNode
  children: ReactNode
}

export function OpenerButton({ className, label, testId, isDisabled = false, renderOpen, children }: Props) {
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        disabled={isDisabled}
        data-testid={testId}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && <Suspense fallback={null}>{renderOpen(button, () => setOpen(false))}</Suspense>}
    </>
  )
}
