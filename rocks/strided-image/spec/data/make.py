"""Makes the pictures of the specs with Pillow, and what Pillow reads in them.

    python3 make.py    # in this folder

A picture NAME.EXT comes with NAME.txt: its mode in Pillow, its size, and its
elements, row by row. Copies in spec/fuzz/corpus are the seeds of the fuzzers.
"""
from PIL import Image

W, H = 9, 7


def base():
    """A picture with gradients and an edge."""
    im = Image.new("RGBA", (W, H))
    for y in range(H):
        for x in range(W):
            a = 255 if x < 5 else 40 * y
            im.putpixel((x, y), (28 * x, 36 * y, 255 if x > y else 9, a))
    return im


def note(name, mode, im):
    points = (im.getpixel((x, y)) for y in range(im.height)
              for x in range(im.width))
    flat = [e for p in points for e in (p if isinstance(p, tuple) else (p,))]
    with open(name.rsplit(".", 1)[0] + ".txt", "w") as f:
        f.write("%s %d %d\n" % (mode, im.width, im.height))
        f.write(" ".join(map(str, flat)) + "\n")


def write(name, im, as_mode=None, **options):
    im.save(name, **options)
    back = Image.open(name)
    mode = back.mode
    if as_mode:
        back = back.convert(as_mode)
    note(name, mode, back)


def exif(orientation):
    e = Image.Exif()
    e[0x0112] = orientation
    return e


rgba = base()
rgb = rgba.convert("RGB")
gray = rgb.convert("L")
few = rgb.quantize(4)
write("rgb.png", rgb)
write("rgba.png", rgba)
write("gray.png", gray)
write("gray_alpha.png", rgba.convert("LA"))
write("gray1.png", gray.convert("1"), "L")
write("palette2.png", few, "RGB", bits=2)
write("palette4.png", rgb.quantize(13), "RGB", bits=4)
write("palette8.png", rgb.quantize(60), "RGB", bits=8)
write("palette_alpha.png", few, "RGBA", transparency=b"\x00\x80\xff\xff")
write("transparent.png", rgb, "RGBA", transparency=(0, 0, 9))
wide = Image.new("I;16", (W, H))
for y in range(H):
    for x in range(W):
        wide.putpixel((x, y), 7000 * x + 1000 * y + 3)
write("gray16.png", wide)
write("png_oriented.png", rgb, exif=exif(6))
write("rgb420.jpg", rgb, quality=80)
write("rgb444.jpg", rgb, quality=80, subsampling=0)
write("progressive.jpg", rgb, quality=80, progressive=True)
write("luma.jpg", gray, quality=80)
write("jpeg_oriented.jpg", rgb, quality=80, exif=exif(8))
write("cmyk.jpg", rgb.convert("CMYK"), "RGB", quality=90)
write("lossless.webp", rgb, lossless=True)
write("lossless_alpha.webp", rgba, lossless=True, exact=True)
write("lossy.webp", rgb, quality=60)
write("lossy_alpha.webp", rgba, quality=60)
write("webp_oriented.webp", rgb, lossless=True, exif=exif(3))
rgb.save("animation.webp", save_all=True, append_images=[rgb.rotate(180)])
