/**
 * Fires an input event on a form's group of fields, because adding, moving or removing fields does not fire one. Waits until React
 * has updated the page.
 */
export const announceChange = (group: HTMLFieldSetElement | null): void => {
  requestAnimationFrame(() => group?.dispatchEvent(new Event('input', { bubbles: true })));
};
