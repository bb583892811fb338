/** How many bytes the text takes as UTF-8, without building them. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    bytes += code < 0x800 ? 1 : 2;
    if (code >= 0xd800 && code <= 0xdbff) i++; // a pair is two units here and four bytes there
  }
  return bytes;
}

/** Whether the text fits into `limit` bytes. Counts only where its length alone doesn't tell. */
export function fits(text: string, limit: number): boolean {
  if (text.length > limit) return false;
  return text.length * 3 <= limit || byteLength(text) <= limit;
}

/** A number of bytes as the config writes it: "10 MiB", "1.5 KiB", "100 bytes". */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"] as const;
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** power).toFixed(2))} ${units[power]}`;
}
