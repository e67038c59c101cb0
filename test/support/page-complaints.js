/**
 * Runs inside a page; its value is a list of what is hard to use there: text too faint for its background (WCAG 2.2 AA), a page wider than
 * its window, pictures and fields without names, headings that skip a level, things to press that are too small for a finger.
 */
(() => {
  const complaints = [];
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  /** Any CSS colour over another as red, green and blue. */
  const over = (colour, under) => {
    canvas.fillStyle = `rgb(${under.join(" ")})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data.slice(0, 3));
  };

  const backgroundOf = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(getComputedStyle(at).backgroundColor);
    return chain.reduce((under, colour) => over(colour, under), [255, 255, 255]);
  };

  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };

  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  const isSeen = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 1;
  const told = (element) => `<${element.localName}> ${(element.textContent ?? "").trim().slice(0, 40)}`;

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const judged = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || judged.has(element) || !isSeen(element)) continue;
    judged.add(element);
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const size = parseFloat(fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5;
    const under = backgroundOf(element);
    const ratio = contrast(over(color, under), under);
    if (ratio < least)
      complaints.push(`contrast ${ratio.toFixed(2)} where ${least} is needed: ${told(element)}`);
  }

  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth)
    complaints.push(`the page is ${scrollWidth} wide in a window of ${clientWidth}`);

  for (const image of document.images)
    if (!image.hasAttribute("alt")) complaints.push(`no alt: ${image.src}`);
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!field.labels?.length && !field.ariaLabel) complaints.push(`no label: ${field.name}`);

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.localName[1]);
    if (own > level + 1) complaints.push(`skips a level: ${told(heading)}`);
    level = own;
  }
  if (document.querySelectorAll("h1").length !== 1) complaints.push("a page has one h1");
  if (!document.title) complaints.push("no title");

  // WCAG 2.5.8: 24 pixels each way; links inside sentences are excepted.
  for (const target of document.querySelectorAll("button, .button, nav a")) {
    const { width, height } = target.getBoundingClientRect();
    if (isSeen(target) && (width < 24 || height < 24)) complaints.push(`too small to press: ${told(target)}`);
  }
  return complaints;
})();
