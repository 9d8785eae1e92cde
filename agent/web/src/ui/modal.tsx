/** A modal dialog. Escape or a click outside closes it. */
import type { ReactNode } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'

export function ModalDialog({
  onClose,
  className = 'modal',
  label,
  children,
}: {
  onClose: () => void
  className?: string
  /** The accessible name of a dialog without a heading. */
  label?: string
  children: ReactNode
}) {
  return (
    <ModalOverlay
      className="scrim"
      isOpen
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
      isDismissable
    >
      <Modal className={className}>
        <Dialog {...(label === undefined ? {} : { 'aria-label': label })}>{children}</Dialog>
      </Modal>
    </ModalOverlay>
  )
}
