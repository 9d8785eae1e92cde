/** A button with a menu. What draws menus is loaded when the first one opens. */
import { type ReactNode, Suspense, lazy, useRef, useState } from 'react'

const MenuPopover = lazy(() => import('./menu-popover.tsx'))

export type MenuEntry = { id: string; text: string; icon?: ReactNode; detail?: string; testId?: string }
export type MenuSpec = {
  label: string
  entries: readonly MenuEntry[]
  disabled?: readonly string[]
  /** Above the entries. */
  head?: ReactNode
  placement?: 'bottom start' | 'bottom end'
  onChoose: (id: string) => void
}

type Props = {
  menu: MenuSpec
  className: string
  label?: string
  testId: string
  isDisabled?: boolean
  children: ReactNode
}

export function MenuButton({ menu, className, label, testId, isDisabled = false, children }: Props) {
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
      {isOpen && (
        <Suspense fallback={null}>
          <MenuPopover menu={menu} button={button} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
