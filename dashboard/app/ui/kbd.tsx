/** Shows a key. A capital letter is the letter with Shift. */
export const Kbd = ({ children }: { readonly children: string }) => (
  <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded-sm border border-line bg-panel px-1 text-muted">
    {/^[A-Z]$/.test(children) ? `⇧${children}` : children}
  </kbd>
);
